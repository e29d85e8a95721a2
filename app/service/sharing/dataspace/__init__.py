"""The Dataspace Protocol (2025-1): agreements that machines negotiate, and the use made of them."""
