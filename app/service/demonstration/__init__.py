"""A made-up data set with recipients and copies, on which anybody can watch what the service is for."""
