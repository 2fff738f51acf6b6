package record

// Owner returns whose record a value is, without a look at what stands behind the
// owner: nil where there is none. It belongs to the Decoder and to value.
func (d *Decoder) Owner(value []byte) []byte {
	s := &d.scan
	s.Reset(value)
	i := s.Blank(0)
	if i >= len(value) || value[i] != '{' {
		return nil
	}
	i, more := s.First(i, '}')
	for more {
		var key []byte
		if key, i = s.Key(i); i < 0 || i >= len(value) {
			return nil
		}
		if string(key) == fieldNames[ownerField] {
			if value[i] != '"' {
				return nil
			}
			owner, _ := s.Text(i)
			return owner
		}
		if i = s.Skip(i, 1); i < 0 {
			return nil
		}
		if i, more = s.Next(i, '}'); i < 0 {
			return nil
		}
	}
	return nil
}
