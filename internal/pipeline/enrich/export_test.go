package enrich

// Settle waits until what was looked at is remembered.
func (e *Enricher) Settle() { e.agents.known.Wait() }
