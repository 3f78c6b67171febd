"""The bookmark operations in the OpenAPI document."""
