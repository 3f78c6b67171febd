"""An app of a host that shows the admin of the apps with Unfold."""
