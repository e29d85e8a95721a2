"""The app behind a socket: processes, signals, bounds on connections and load, metrics, traces."""
