"""Documentation of the bookmark operations for the OpenAPI document."""
