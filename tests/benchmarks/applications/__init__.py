"""Two applications that ``tests.benchmarks.operations`` compares with the
service. They use the same tables.

- ``orm``: plain Django views with the ORM and nothing else.
- ``sql``: plain Django views with SQL.
"""
