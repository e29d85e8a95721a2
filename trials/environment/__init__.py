"""What trials are played on: installations, servers, wires, and libraries that lie to them."""
