package queryapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/contract/wire"
)

// typesBody is the response of GET /v1/query/types.
type typesBody struct {
	Success   bool     `json:"success"`
	RequestID string   `json:"requestId"`
	Types     []string `json:"types"`
	Configs   configs  `json:"configs"`
	Presets   []string `json:"presets"`
}

// configs is an object by type name, in the order of the catalogue.
type configs []typeConfig

type typeConfig struct {
	name string

	AllowedFilters    []string  `json:"allowedFilters"`
	AllowedSortFields []string  `json:"allowedSortFields"`
	Aliases           []string  `json:"aliases"`
	Customizable      bool      `json:"customizable"`
	DefaultLimit      int       `json:"defaultLimit"`
	PublicAccess      bool      `json:"publicAccess"`
	Meta              *typeMeta `json:"meta,omitempty"`
}

type typeMeta struct {
	Title                string        `json:"title"`
	Description          string        `json:"description"`
	Category             string        `json:"category"`
	Tags                 []string      `json:"tags"`
	OutputFields         []outputField `json:"output_fields"`
	DefaultVisualization string        `json:"default_visualization"`
	SupportsGranularity  []string      `json:"supports_granularity"`
	SupportsGroupBy      []string      `json:"supports_group_by"`
	SupportsCompare      bool          `json:"supports_compare"`
	RequiredFilters      []string      `json:"required_filters"`
	FilterableFields     []string      `json:"filterable_fields"`
	Options              []typeOption  `json:"options"`
}

// typeOption is a member of a parameter object that a type takes alone.
type typeOption struct {
	Name        string          `json:"name"`
	Kind        string          `json:"kind"`
	Required    bool            `json:"required"`
	Default     string          `json:"default"`
	Min         int             `json:"min,omitempty"`
	Max         int             `json:"max,omitempty"`
	OneOf       []string        `json:"one_of,omitempty"`
	Description string          `json:"description"`
	Example     json.RawMessage `json:"example,omitempty"`
}

type outputField struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Label       string `json:"label"`
	Description string `json:"description"`
	Unit        string `json:"unit"`
	Example     string `json:"example"`
}

// MarshalJSON writes the types as an object whose keys keep their order.
func (c configs) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i := range c {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(wire.AppendHTMLSafe(nil, c[i].name))
		b.WriteByte(':')
		text, err := json.Marshal(&c[i])
		if err != nil {
			return nil, err
		}
		b.Write(text)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// catalogue is the response of the types route but for the request's id, which stands
// between head and rest.
type catalogue struct {
	head, rest []byte
	etag       string
}

// catalogues are the catalogue without and with what the types mean. It is the same
// for as long as the process runs.
var catalogues = sync.OnceValues(func() (all [2]catalogue, err error) {
	for i := range all {
		if all[i], err = newCatalogue(i == 1); err != nil {
			return all, err
		}
	}
	return all, nil
})

func newCatalogue(withMeta bool) (catalogue, error) {
	const id = "\u2028" // stands in no name
	body := typesBody{Success: true, RequestID: id, Presets: analytics.PresetNames()}
	for i := range analytics.Catalog {
		t := &analytics.Catalog[i]
		body.Types = append(body.Types, t.Name)
		body.Configs = append(body.Configs, configOf(t, withMeta))
	}
	text, err := json.Marshal(&body)
	if err != nil {
		return catalogue{}, fmt.Errorf("encoding the catalogue of query types: %w", err)
	}
	head, rest, _ := bytes.Cut(text, wire.AppendHTMLSafe(nil, id))
	return catalogue{head, rest, etagOf(text)}, nil
}

// types serves GET /v1/query/types.
func (*handlers) types(c *fiber.Ctx, _ *request) error {
	all, err := catalogues()
	if err != nil {
		return err
	}
	found := &all[0]
	if c.QueryBool("include_meta") {
		found = &all[1]
	}
	c.Set(fiber.HeaderCacheControl, "public, max-age=300")
	c.Set(fiber.HeaderETag, found.etag)
	if matches(listOf(c, fiber.HeaderIfNoneMatch), found.etag) {
		c.Vary(fiber.HeaderAcceptEncoding)
		c.Status(fiber.StatusNotModified)
		return nil
	}
	body := make([]byte, 0, len(found.head)+len(found.rest)+httpkit.MaxRequestIDLen+2)
	body = append(wire.AppendHTMLSafe(append(body, found.head...), httpkit.RequestID(c)), found.rest...)
	return httpkit.Send(c, fiber.MIMEApplicationJSON, body)
}

func configOf(t *analytics.Type, withMeta bool) typeConfig {
	config := typeConfig{
		name: t.Name, AllowedFilters: list(slices.Concat(t.Filters, t.FilterOptions())), AllowedSortFields: list(t.Sorts),
		Aliases:      list(t.Aliases),
		Customizable: len(t.Filters) > 0, DefaultLimit: t.DefaultLimit, PublicAccess: t.Public,
	}
	if !withMeta {
		return config
	}
	config.Meta = &typeMeta{
		Title: t.Title, Description: t.Description, Category: t.Category, Tags: list(t.Tags),
		DefaultVisualization: t.Visualization, SupportsGranularity: t.Granularities(), SupportsGroupBy: list(t.Groups),
		SupportsCompare: t.Comparable(), RequiredFilters: list(t.Requires), FilterableFields: list(t.Measures),
		Options: []typeOption{},
	}
	for i := range t.Options {
		o := &t.Options[i]
		config.Meta.Options = append(config.Meta.Options, typeOption{
			Name: o.Name, Kind: string(o.Kind), Required: o.Required, Default: o.Default, Min: o.Min, Max: o.Max, OneOf: o.OneOf,
			Description: o.Doc, Example: json.RawMessage(o.Example),
		})
	}
	for _, col := range t.Columns {
		config.Meta.OutputFields = append(config.Meta.OutputFields, outputField{
			Name: col.Name, Type: string(col.Type), Label: col.Label, Description: col.Description, Unit: col.Unit,
			Example: col.Example,
		})
	}
	return config
}

// list keeps an empty list from becoming null.
func list(names []string) []string {
	if names == nil {
		return []string{}
	}
	return names
}
