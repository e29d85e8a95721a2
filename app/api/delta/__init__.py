"""The Delta Sharing protocol, so that its clients read agreed copies as tables."""
