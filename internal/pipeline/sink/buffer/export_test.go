package buffer

// Batches returns how many batches an open range keeps.
func (o *Open) Batches() int { return len(o.batches) }

// Batches returns how many batches a range keeps.
func (r *Range) Batches() int { return len(r.batches) }

// Batch returns the batch that is open; nil for none.
func (r *Reader) Batch() Packed { return r.batch }

// Overhead is what a record in hand counts besides its value.
const Overhead = overhead
