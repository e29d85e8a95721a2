"""Background jobs: enqueued in the transaction, run by workers, listed, cancelled."""
