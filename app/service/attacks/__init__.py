"""What attackers get back: from tables that a principal brings, and from copies of ours."""
