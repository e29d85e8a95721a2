"""What attackers get back: from tables that a caller brings, and from copies of ours."""
