package config

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/millrace/millrace/internal/platform/suggest"
)

// flagValue keeps what was typed; it is converted with the other sources, so
// that problems are reported together.
type flagValue struct {
	field *Field
	raw   string
}

// Set implements pflag.Value.
func (v *flagValue) Set(s string) error { v.raw = s; return nil }

// Type is the word that --help shows behind the flag's name.
func (v *flagValue) Type() string { return v.field.Type }

// String implements pflag.Value; a secret stays one.
func (v *flagValue) String() string {
	if v.field == nil || !v.field.Secret {
		return v.raw
	}
	return Secret(v.raw).String()
}

// AddFlags adds one flag per setting, and --config.file, --config.check and
// --config.print, to fs.
func AddFlags(fs *pflag.FlagSet) {
	for i := range table {
		f := &table[i]
		pf := fs.VarPF(&flagValue{field: f}, f.Key, "", f.Help)
		pf.DefValue = f.Default
		if f.Type == "boolean" {
			pf.NoOptDefVal = "true"
		}
	}
	fs.String(fileFlag, "", "YAML file with settings. "+fileEnv+" also names it.")
	fs.Bool(checkFlag, false, "Check the settings, print ok or every problem, and exit.")
	fs.Bool(printFlag, false, "Print every setting with its value and source, and exit.")
	fs.SortFlags = false
}

// SuggestFlag turns the error of parsing flags into one that names the flag that
// may have been meant; other errors are returned as they are.
func SuggestFlag(fs *pflag.FlagSet, err error) error {
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) {
		return err
	}
	return unknownFlag(fs, missing.GetSpecifiedName())
}

func unknownFlag(fs *pflag.FlagSet, name string) error {
	var names []string
	fs.VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	return unknown("flag", "--"+strings.TrimLeft(name, "-"), "", names)
}

// splitArgs takes the unknown flags out of args, so that all of them are
// reported. What follows an unknown flag is taken for its value unless it looks
// like a flag.
func splitArgs(fs *pflag.FlagSet, args []string) (known []string, problems []error) {
	for len(args) > 0 && args[0] != "--" {
		name, _, hasValue := strings.Cut(strings.TrimPrefix(args[0], "--"), "=")
		n := 1 // arguments that belong together
		switch f := fs.Lookup(name); {
		case !strings.HasPrefix(args[0], "--") || name == "help":
		case f == nil:
			problems = append(problems, unknownFlag(fs, name))
			if !hasValue && len(args) > 1 && !strings.HasPrefix(args[1], "-") {
				n = 2
			}
			args = args[n:]
			continue
		case !hasValue && f.NoOptDefVal == "" && len(args) > 1:
			n = 2
		}
		known = append(known, args[:n]...)
		args = args[n:]
	}
	return append(known, args...), problems
}

func usage(w io.Writer, name string, fs *pflag.FlagSet) error {
	_, err := fmt.Fprintf(w, `Usage: %s [flags]

Each flag is also an environment variable and a key of the settings file:
--kafka.brokers is MILLRACE_KAFKA_BROKERS and kafka.brokers. Flags override
the environment; the environment overrides the file. Write durations as 250ms,
5s or 1h, and lists with commas.

%s`, name, fs.FlagUsagesWrapped(100))
	if err != nil {
		return fmt.Errorf("writing the usage: %w", err)
	}
	return nil
}

// settingKeys lists the keys and the sections they stand in.
func settingKeys() []string {
	var keys []string
	for i := range table {
		keys = append(keys, table[i].Key)
		for j, c := range table[i].Key {
			if c == '.' {
				keys = append(keys, table[i].Key[:j])
			}
		}
	}
	return keys
}

// unknown is the error for a name that nothing answers to.
func unknown(what, name, where string, known []string) error {
	var b strings.Builder
	if where != "" {
		b.WriteString(where + ": ")
	}
	fmt.Fprintf(&b, "unknown %s %s", what, name)
	if s := suggest.Closest(name, slices.Sorted(slices.Values(known))); s != "" {
		fmt.Fprintf(&b, "; did you mean %s?", s)
	}
	return errors.New(b.String())
}
