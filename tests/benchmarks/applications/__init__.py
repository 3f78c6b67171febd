"""An application that ``tests.benchmarks.operations`` compares with the service."""
