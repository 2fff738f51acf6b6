package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	envPrefix   = "MILLRACE_"
	fileEnv     = envPrefix + "CONFIG_FILE"
	fileFlag    = "config.file"
	checkFlag   = "config.check"
	printFlag   = "config.print"
	listDivider = ","
)

// Field describes one setting.
type Field struct {
	// Key is the YAML path and the flag's name, such as "kafka.brokers".
	Key string
	// Env is the environment variable, such as "MILLRACE_KAFKA_BROKERS".
	Env string
	// Help is one sentence with units.
	Help string
	// Type is the kind of value as the reference page names it.
	Type string
	// Allowed says which values are accepted; empty when any value of the type is.
	Allowed string
	// Default is the built-in value as one would write it; empty for none.
	Default string
	// Secret says that the value is never shown.
	Secret bool

	index []int
	rules rules
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	secretType   = reflect.TypeFor[Secret]()
	listType     = reflect.TypeFor[[]string]()
	table        = newTable()
)

// Fields returns every setting in the order of [Settings].
func Fields() []Field { return slices.Clone(table) }

func newTable() []Field {
	def := reflect.ValueOf(Default())
	return appendFields(nil, def.Type(), def, "", nil)
}

func appendFields(fields []Field, t reflect.Type, def reflect.Value, prefix string, index []int) []Field {
	for i := range t.NumField() {
		sf := t.Field(i)
		key := prefix + sf.Tag.Get("koanf")
		at := append(slices.Clone(index), i)
		if sf.Type.Kind() == reflect.Struct {
			fields = appendFields(fields, sf.Type, def.Field(i), key+".", at)
			continue
		}
		r := parseRules(sf.Tag)
		fields = append(fields, Field{
			Key: key, Env: envName(key), Help: sf.Tag.Get("help"), Type: typeName(sf.Type), Allowed: r.describe(),
			Default: formatValue(def.Field(i)), Secret: sf.Type == secretType, index: at, rules: r,
		})
	}
	return fields
}

func envName(key string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

func typeName(t reflect.Type) string {
	switch t {
	case durationType:
		return "duration"
	case secretType:
		return "secret"
	case listType:
		return "list"
	}
	switch t.Kind() {
	case reflect.Int:
		return "integer"
	case reflect.Float64:
		return "number"
	case reflect.Bool:
		return "boolean"
	default:
		return "text"
	}
}

// formatValue writes a value the way that an operator would; a secret stays one.
func formatValue(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case time.Duration:
		return formatDuration(x)
	case []string:
		return strings.Join(x, listDivider)
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	default:
		return fmt.Sprint(x)
	}
}

// formatDuration drops the zero units of time.Duration's own spelling: 1h, not
// 1h0m0s.
func formatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Value returns the value that s holds, written as one would write it; a secret
// stays one.
func (f *Field) Value(s *Settings) string { return formatValue(f.of(s)) }

func (f *Field) of(s *Settings) reflect.Value { return reflect.ValueOf(s).Elem().FieldByIndex(f.index) }

func (f *Field) isEmpty(s *Settings) bool {
	v := f.of(s)
	return v.IsZero() || f.Type == "list" && v.Len() == 0
}

// hasFile reports whether s names a file for the value of a secret.
func (f *Field) hasFile(s *Settings) bool {
	file, ok := lookupField(f.Key + fileSuffix)
	return ok && f.Secret && !file.isEmpty(s)
}

func lookupField(key string) (*Field, bool) {
	i := slices.IndexFunc(table, func(f Field) bool { return f.Key == key })
	if i < 0 {
		return nil, false
	}
	return &table[i], true
}

// Range returns the bounds of a number or duration, both accepted, as one would
// write them; ok is false where there are none.
func (f *Field) Range() (low, high string, ok bool) {
	return f.rules.low, f.rules.high, f.rules.low != ""
}

// Words returns the texts that a setting accepts where it accepts only some; the
// empty one among them where empty is accepted.
func (f *Field) Words() []string {
	words := slices.Clone(f.rules.oneOf)
	if len(words) > 0 && f.rules.emptyOK {
		words = append(words, "")
	}
	return words
}
