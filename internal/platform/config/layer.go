package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"
)

type layerKind uint8

const (
	layerDefault layerKind = iota
	layerFile
	layerEnv
	layerFlag
)

// origin is where a value came from; name is as the operator knows it.
type origin struct {
	layer layerKind
	name  string
}

func (o origin) String() string {
	switch o.layer {
	case layerFile:
		return "file " + o.name
	case layerEnv, layerFlag:
		return o.name
	case layerDefault:
	}
	return "default"
}

// layer is one source of settings: values of their final types by key, and what
// was wrong with the rest.
type layer struct {
	values   map[string]any
	origins  map[string]origin
	problems []error
}

func newLayer() *layer { return &layer{values: map[string]any{}, origins: map[string]origin{}} }

// add converts a raw value and keeps it, or the problem with it.
func (l *layer) add(f *Field, raw any, from origin) {
	v, err := convert(reflect.ValueOf(Settings{}).FieldByIndex(f.index).Type(), raw)
	if err != nil {
		l.problems = append(l.problems, &problem{key: f.Key, origin: from, text: err.Error()})
		return
	}
	if _, twice := l.values[f.Key]; twice { // as "log.level" and as "level" below "log"
		l.problems = append(l.problems, &problem{key: f.Key, origin: from, text: "is set twice"})
	}
	l.values[f.Key], l.origins[f.Key] = v, from
}

// readLayers returns the sources in rising order of precedence.
func readLayers(flags *pflag.FlagSet, environ []string) []*layer {
	fromEnv, path := envLayer(environ)
	if f := flags.Lookup(fileFlag); f != nil && f.Changed {
		path = f.Value.String()
	}
	layers := []*layer{defaultLayer()}
	if path != "" {
		layers = append(layers, fileLayer(path))
	}
	return append(layers, fromEnv, flagLayer(flags))
}

func defaultLayer() *layer {
	l, def := newLayer(), Default()
	for i := range table {
		l.values[table[i].Key] = table[i].of(&def).Interface()
		l.origins[table[i].Key] = origin{}
	}
	return l
}

func fileLayer(path string) *layer {
	l, k := newLayer(), koanf.New(".")
	if err := k.Load(file.Provider(path), yaml.Parser()); err != nil {
		l.problems = append(l.problems, fileProblem(path, err))
		return l
	}
	l.walk(k.Raw(), "", origin{layer: layerFile, name: path})
	return l
}

// fileProblem says what is wrong with the file as a whole. The parser's own
// words are kept only where they quote nothing of the file's values.
func fileProblem(path string, err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("reading the settings file %s: %w", path, pathErr.Err)
	}
	for _, q := range quoting {
		if strings.Contains(err.Error(), q.says) {
			return fmt.Errorf("%s: %s", path, q.instead)
		}
	}
	return fmt.Errorf("%s: %w", path, err)
}

// quoting lists the parser's complaints that quote a value, which may be a
// secret, and what is said instead.
var quoting = []struct{ says, instead string }{
	{"cannot unmarshal", `must be a mapping of settings, such as "log:" with "level: debug" below it`},
	{"unknown anchor", "unknown YAML anchor; put a value that begins with * in quotes"},
	{"cannot decode", "a value does not match the YAML tag (!!) before it"},
}

// walk flattens one level of a file. Keys are taken in order, so that problems
// are too.
func (l *layer) walk(section map[string]any, prefix string, from origin) {
	for _, name := range slices.Sorted(maps.Keys(section)) {
		key, raw := prefix+name, section[name]
		inner, isMap := raw.(map[string]any)
		f, known := lookupField(key)
		switch {
		case known && isMap:
			l.problems = append(l.problems, &problem{key: key, origin: from, text: "is a setting, not a section"})
		case known && raw != nil: // an empty value in YAML leaves the default
			l.add(f, raw, from)
		case known:
		case !isSection(key):
			l.problems = append(l.problems, unknown("setting", key, from.name, settingKeys()))
		case isMap:
			l.walk(inner, key+".", from)
		case raw != nil:
			l.problems = append(l.problems,
				&problem{key: key, origin: from, text: "is a section; put its settings on lines of their own below it"})
		}
	}
}

func isSection(key string) bool {
	return slices.ContainsFunc(table, func(f Field) bool { return strings.HasPrefix(f.Key, key+".") })
}

// serviceLink matches what Kubernetes puts into the environment of every pod for
// a Service whose name begins with "millrace"; an operator never wrote these.
var serviceLink = regexp.MustCompile(
	`^MILLRACE_([A-Z0-9_]+_)?(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)

// KeyEnv is the variable of the API key with which commands send events. It is no
// setting: no daemon has a key.
const KeyEnv = envPrefix + "API_KEY"

// envLayer reads the environment; path is the settings file it names, if any.
func envLayer(environ []string) (l *layer, path string) {
	l = newLayer()
	byEnv := make(map[string]*Field, len(table))
	for i := range table {
		byEnv[table[i].Env] = &table[i]
	}
	raw, err := env.Provider("", env.Opt{
		Prefix:      envPrefix,
		EnvironFunc: func() []string { return environ },
	}).Read()
	if err != nil {
		l.problems = append(l.problems, fmt.Errorf("reading the environment: %w", err))
		return l, ""
	}
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		f, known := byEnv[name]
		switch {
		case known:
			l.add(f, raw[name], origin{layer: layerEnv, name: name})
		case name == fileEnv:
			path = fmt.Sprint(raw[name])
		case isNoSetting(name):
		default:
			l.problems = append(l.problems, unknown("variable", name, "", append(slices.Collect(maps.Keys(byEnv)), fileEnv)))
		}
	}
	return l, path
}

func flagLayer(flags *pflag.FlagSet) *layer {
	l := newLayer()
	flags.Visit(func(pf *pflag.Flag) {
		v, ok := pf.Value.(*flagValue)
		if !ok {
			return // a flag of the command, not a setting
		}
		l.add(v.field, v.raw, origin{layer: layerFlag, name: "--" + pf.Name})
	})
	return l
}
