"""Long work: kept in the transaction it follows from, run by workers, watched and cancelled."""
