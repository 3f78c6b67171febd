"""The serializers of requests and responses."""
