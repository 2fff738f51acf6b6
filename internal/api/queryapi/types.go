package queryapi

import (
	"bytes"
	"encoding/json"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/analytics"
	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/httpkit"
)

// typesBody is the answer of GET /v1/query/types.
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
		b.Write(appendText(nil, c[i].name))
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

// types serves GET /v1/query/types.
func (*handlers) types(c *fiber.Ctx, _ *rpc.Caller) error {
	body := typesBody{Success: true, RequestID: httpkit.RequestID(c), Presets: analytics.PresetNames()}
	withMeta := c.QueryBool("include_meta")
	for i := range analytics.Catalog {
		t := &analytics.Catalog[i]
		body.Types = append(body.Types, t.Name)
		body.Configs = append(body.Configs, configOf(t, withMeta))
	}
	text, err := json.Marshal(&body)
	if err != nil {
		return err
	}
	return answer(c, text)
}

func configOf(t *analytics.Type, withMeta bool) typeConfig {
	config := typeConfig{
		name: t.Name, AllowedFilters: list(t.Filters), AllowedSortFields: list(t.Sorts), Aliases: list(t.Aliases),
		Customizable: len(t.Filters) > 0, DefaultLimit: t.DefaultLimit, PublicAccess: t.Public,
	}
	if !withMeta {
		return config
	}
	config.Meta = &typeMeta{
		Title: t.Title, Description: t.Description, Category: t.Category, Tags: list(t.Tags),
		DefaultVisualization: t.Visualization, SupportsGranularity: t.Granularities(),
	}
	for _, col := range t.Columns {
		config.Meta.OutputFields = append(config.Meta.OutputFields, outputField{
			Name: col.Name, Type: string(col.Type), Label: col.Label, Description: col.Description, Unit: col.Unit, Example: col.Example,
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
