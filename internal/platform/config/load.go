package config

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"
)

// Options say where Load reads from.
type Options struct {
	// Name is the daemon's, shown by --help.
	Name string
	// Args are the arguments without the program's name; nil means os.Args[1:].
	Args []string
	// Environ lists NAME=value pairs; nil means os.Environ().
	Environ []string
	// Output receives what --help, --config.check and --config.print show; nil
	// means os.Stdout.
	Output io.Writer
	// Required lists the keys that may not be empty for this daemon.
	Required []string
	// Serves lists the keys of the listeners that this daemon opens. One that other
	// machines reach needs the public addresses that its host tells callers of.
	Serves []string
}

// Meta tells how the settings came about.
type Meta struct {
	// Done is true when the arguments asked for an answer, such as --help, that
	// has been given: there is nothing left to run.
	Done bool

	origins map[string]origin
}

// Origin says where the value of a key came from: "default", "file PATH",
// "MILLRACE_NAME" or "--key".
func (m Meta) Origin(key string) string { return m.origins[key].String() }

// IsSet reports whether an operator set the key, to whatever value.
func (m Meta) IsSet(key string) bool { return m.origins[key].layer != layerDefault }

// Load reads the settings of a daemon whose whole command line is settings. The
// error joins every problem found.
func Load(opts Options) (Settings, Meta, error) {
	if opts.Args == nil {
		opts.Args = os.Args[1:]
	}
	if opts.Output == nil {
		opts.Output = os.Stdout
	}
	fs := pflag.NewFlagSet(opts.Name, pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	AddFlags(fs)
	known, unknown := splitArgs(fs, opts.Args)
	if err := fs.Parse(known); errors.Is(err, pflag.ErrHelp) {
		return Settings{}, Meta{Done: true}, usage(opts.Output, opts.Name, fs)
	} else if err != nil {
		unknown = append(unknown, err)
	}
	if n := fs.NArg(); n > 0 { // not shown: it may be a part of a secret
		unknown = append(unknown, fmt.Errorf("unexpected arguments: %d; write a setting as --key=value", n))
	}
	return load(fs, opts, unknown)
}

// LoadFlags reads the settings of a command that has flags of its own beside
// those of [AddFlags]; fs has been parsed. Name and Args of opts are not used.
func LoadFlags(fs *pflag.FlagSet, opts Options) (Settings, Meta, error) {
	if opts.Output == nil {
		opts.Output = os.Stdout
	}
	return load(fs, opts, nil)
}

func load(fs *pflag.FlagSet, opts Options, problems []error) (Settings, Meta, error) {
	if opts.Environ == nil {
		opts.Environ = os.Environ()
	}
	s := Settings{}
	meta := Meta{origins: map[string]origin{}}
	merged := koanf.New(".")
	for _, l := range readLayers(fs, opts.Environ) {
		problems = append(problems, l.problems...)
		if err := merged.Load(confmap.Provider(l.values, "."), nil); err != nil {
			return s, meta, fmt.Errorf("merging settings: %w", err)
		}
		maps.Copy(meta.origins, l.origins)
	}
	if err := merged.Unmarshal("", &s); err != nil {
		return s, meta, fmt.Errorf("reading settings: %w", err)
	}
	for _, p := range slices.Concat(s.problems(), s.missing(opts.Required), s.unnamed(opts.Serves)) {
		p.origin = meta.origins[p.key]
		problems = append(problems, p)
	}
	if err := errors.Join(problems...); err != nil {
		return s, meta, err
	}
	return finish(fs, opts.Output, s, meta)
}

// finish gives what --config.check and --config.print ask for.
func finish(fs *pflag.FlagSet, w io.Writer, s Settings, meta Meta) (Settings, Meta, error) {
	if isTrue(fs, printFlag) {
		meta.Done = true
		if err := Print(w, s, meta); err != nil {
			return s, meta, err
		}
	}
	if isTrue(fs, checkFlag) {
		meta.Done = true
		if _, err := fmt.Fprintln(w, "ok"); err != nil {
			return s, meta, fmt.Errorf("writing the output: %w", err)
		}
	}
	return s, meta, nil
}

func isTrue(fs *pflag.FlagSet, name string) bool {
	on, err := fs.GetBool(name)
	return err == nil && on
}

// problem is one thing wrong with one setting.
type problem struct {
	key    string
	origin origin
	text   string
}

func (p *problem) Error() string {
	switch p.origin.layer {
	case layerFile:
		return p.origin.name + ": " + p.key + ": " + p.text
	case layerEnv, layerFlag:
		return p.origin.name + ": " + p.text
	case layerDefault:
	}
	return p.key + ": " + p.text
}

// Print writes one line per setting: key, value, and where it came from.
func Print(w io.Writer, s Settings, meta Meta) error {
	var b strings.Builder
	for i := range table {
		f := &table[i]
		fmt.Fprintf(&b, "%s = %s  (%s)\n", f.Key, shown(formatValue(f.of(&s))), meta.Origin(f.Key))
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("printing the settings: %w", err)
	}
	return nil
}

// shown makes an empty value visible.
func shown(value string) string {
	if value == "" {
		return `""`
	}
	return value
}
