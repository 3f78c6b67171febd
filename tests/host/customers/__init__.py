"""An app of a host whose models inherit from those of the apps."""
