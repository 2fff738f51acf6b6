package standalone

import (
	"fmt"
	"io"
	"strings"
	"text/template"

	"github.com/millrace/millrace/internal/platform/buildinfo"
	"github.com/millrace/millrace/internal/platform/config"
)

// console is what a person at the terminal reads.
type console struct{ w io.Writer }

// line prints one line.
func (c *console) line(text string) error {
	if _, err := fmt.Fprintln(c.w, text); err != nil {
		return fmt.Errorf("writing to the terminal: %w", err)
	}
	return nil
}

// notify prints a line of progress; a terminal that is gone ends nothing.
func (c *console) notify(text string) { _ = c.line("… " + text) }

// bannerTemplate ends in the line that says that all is ready.
var bannerTemplate = template.Must(template.New("banner").Parse(`
Millrace {{.Version}}

  query host      {{.Env.BaseURL}}
  ingestion host  {{.Env.IngestURL}}
{{- if .Env.LinkURL}}
  short links     {{.Env.LinkURL}}
{{- end}}
  Kafka           {{.Env.KafkaBrokers}}{{if not .EmbeddedKafka}} (not embedded){{end}}
  ClickHouse      {{.Env.ClickHouseAddr}}{{if .ClickHouseHTTP}}, HTTP {{.ClickHouseHTTP}}{{else}} (not embedded){{end}}
{{- if .Metrics}}
  metrics         {{.Metrics}}/metrics
{{- end}}
  keys and ids    {{.File}}

Send an event; sent twice, its eventId counts once:

  curl -sS '{{.Env.IngestURL}}/track' -H 'x-api-key: {{.Env.APIKey}}' -H 'content-type: application/json' \
    -d '{"name":"signup","eventId":"first-1","websiteId":"{{.Env.WebsiteID}}","properties":{"plan":"pro"}}'

Query it:

  curl -sS '{{.Env.BaseURL}}/v1/query?website_id={{.Env.WebsiteID}}' -H 'x-api-key: {{.Env.APIKey}}' -H 'content-type: application/json' \
    -d '{"parameters":["custom_events"],"preset":"today"}'

Ctrl-C stops it; the data stays.

millrace ready
`))

// banner is what the last lines of a start tell.
type banner struct {
	Env            devEnv
	File           string // of dev.env
	Metrics        string // base URL; empty when there is no admin listener
	EmbeddedKafka  bool
	ClickHouseHTTP string // empty when ClickHouse is not embedded
}

// Version is the program's.
func (banner) Version() string { return buildinfo.Version() }

// banner prints what one does next.
func (c *console) banner(b banner) error {
	var text strings.Builder
	if err := bannerTemplate.Execute(&text, b); err != nil {
		return fmt.Errorf("rendering the addresses: %w", err)
	}
	return c.line(strings.TrimSuffix(text.String(), "\n"))
}

func metricsURL(listen string) string {
	if listen == "" {
		return ""
	}
	return config.ListenURL(listen)
}
