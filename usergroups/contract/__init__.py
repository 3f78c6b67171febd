"""What any answer is: base view, JSON parser, strict fields, errors and OpenAPI parts. Knows no app."""
