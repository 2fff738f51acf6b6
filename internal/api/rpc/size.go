package rpc

import (
	"github.com/danielgtaylor/huma/v2"
	"github.com/gofiber/fiber/v2"
)

// Bounds of the number of JSON values in a body.
const (
	// leastValues is for all operations, so that a wrong field gets an error that names it.
	leastValues = 1_000
	// MostValues is for operations whose schema allows as many: 10,000 targets of a flag with their ids.
	MostValues = 40_000
)

// Values returns the largest number of JSON values in a body of an operation.
func (d *Document) Values(path string) int {
	body := d.api.Paths[path].Post.RequestBody.Content[fiber.MIMEApplicationJSON].Schema
	return max(leastValues, d.values(body, maxNesting))
}

// maxNesting is the depth from which a schema counts as without a bound, because it refers to itself.
const maxNesting = 16

// values returns the number of values that a schema allows, at most MostValues.
func (d *Document) values(s *huma.Schema, depth int) int {
	if s = d.resolve(s); s == nil || depth == 0 {
		return MostValues
	}
	n := 1
	switch s.Type {
	case huma.TypeArray:
		if s.MaxItems == nil {
			return MostValues
		}
		n += *s.MaxItems * d.values(s.Items, depth-1)
	case huma.TypeObject:
		for _, member := range s.Properties {
			n += d.values(member, depth-1)
		}
		if open, ok := s.AdditionalProperties.(*huma.Schema); ok {
			if s.MaxProperties == nil {
				return MostValues
			}
			n += *s.MaxProperties * d.values(open, depth-1)
		}
	case "": // any value
		return MostValues
	}
	return min(n, MostValues)
}
