"""Values of ensembles: inputs, outputs, results, delegations, decisions and errors; they run nothing."""
