"""Training: TRL and PEFT on an export, from the last sealed checkpoint after a kill."""
