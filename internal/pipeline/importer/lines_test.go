package importer

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// split returns what the lines of a text are, each as "number:line".
func split(t *testing.T, in io.Reader, csv bool) []string {
	t.Helper()
	l := newLines(in, csv)
	var got []string
	for {
		text, line, rejected, err := l.next(nil)
		if errors.Is(err, io.EOF) {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		if rejected != nil {
			text = []byte("!" + rejected.Rule)
		}
		got = append(got, fmt.Sprintf("%d:%s", line, text))
	}
}

func TestFilesAreSplitIntoLinesAndRows(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text        string
		lines, rows []string
	}{
		"nothing":            {"", nil, nil},
		"no break at end":    {"a\nb", []string{"1:a", "2:b"}, []string{"1:a", "2:b"}},
		"breaks of Windows":  {"\xEF\xBB\xBFa\r\n\r\nb\r\n", []string{"1:a", "2:", "3:b"}, []string{"1:a", "2:", "3:b"}},
		"a break in quotes":  {"a,\"b\nc\"\nd\n", []string{"1:a,\"b", "2:c\"", "3:d"}, []string{"1:a,\"b\nc\"", "3:d"}},
		"doubled quotes":     {"\"a\"\"\nb\"\nd", []string{"1:\"a\"\"", "2:b\"", "3:d"}, []string{"1:\"a\"\"\nb\"", "3:d"}},
		"a quote in between": {"a\"b\nc\n", []string{"1:a\"b", "2:c"}, []string{"1:a\"b", "2:c"}},
		"a quote after text": {"\"a\"b\"\nc\n", []string{"1:\"a\"b\"", "2:c"}, []string{"1:\"a\"b\"", "2:c"}},
		"never closed":       {"a\n\"b\nc\n", []string{"1:a", "2:\"b", "3:c"}, []string{"1:a", "2:!malformed"}},
	} {
		for _, in := range []io.Reader{strings.NewReader(tt.text), iotest.OneByteReader(strings.NewReader(tt.text))} {
			if diff := cmp.Diff(tt.lines, split(t, in, false)); diff != "" {
				t.Errorf("%s, lines: %s", name, diff)
			}
		}
		if diff := cmp.Diff(tt.rows, split(t, strings.NewReader(tt.text), true)); diff != "" {
			t.Errorf("%s, rows: %s", name, diff)
		}
	}
}

func TestALineIsRejectedFromOneByteBeyondTheLimitOn(t *testing.T) {
	t.Parallel()
	most := strings.Repeat("x", MaxLineBytes)
	for text, want := range map[string][]string{
		most + "\nb":   {"1:" + most, "2:b"},
		most + "\r\nb": {"1:" + most, "2:b"},
		most + "x\nb":  {"1:!too_long", "2:b"},
		most + "x":     {"1:!too_long"},
		most + most + most + "\nb\n" + most + most: {"1:!too_long", "2:b", "3:!too_long"},
	} {
		for _, csv := range []bool{false, true} {
			if got := split(t, strings.NewReader(text), csv); !cmp.Equal(want, got) {
				t.Errorf("%d bytes (CSV: %t) give %d lines", len(text), csv, len(got))
			}
		}
	}
	row := `"` + strings.Repeat("x\n", MaxLineBytes) + `"` + "\nb"
	if got := split(t, strings.NewReader(row), true); !cmp.Equal(got,
		[]string{"1:!too_long", fmt.Sprintf("%d:b", MaxLineBytes+2)}) {
		t.Errorf("a long row gives %.60v", got)
	}
}

func TestTheMemoryOfALineIsBounded(t *testing.T) {
	t.Parallel()
	l := newLines(io.LimitReader(zeros{}, 64<<20), false)
	space, _, rejected, err := l.next(make([]byte, 0, MaxLineBytes))
	if rejected == nil || err != nil || cap(space) > 2*MaxLineBytes {
		t.Errorf("%d bytes are held; %v, %v", cap(space), rejected, err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestRowsBecomeEvents(t *testing.T) {
	t.Parallel()
	const single = "name,timestamp,properties.plan,anonymizeVisitorIds,properties.n"
	for _, tt := range []struct{ header, row, want string }{
		{"name", "a", `{"name":"a"}`},
		{"name,path", "a,", `{"name":"a"}`},
		{"path,name", `"/x,""y""",a`, `{"path":"/x,\"y\"","name":"a"}`},
		{"name", "\"a\\\nb\x01\"", `{"name":"a\\\u000ab\u0001"}`},
		{" name , path", "a,b", `{"name":"a","path":"b"}`},
		{
			single, "a,1777638896000,pro,true,5",
			`{"name":"a","timestamp":"1777638896000","anonymizeVisitorIds":true,"properties":{"plan":"pro","n":5}}`,
		},
		{single, "a,,true,auto,-1.5e3", `{"name":"a","anonymizeVisitorIds":"auto","properties":{"plan":true,"n":-1.5e3}}`},
		{single, "a,,007,,1 ", `{"name":"a","properties":{"plan":"007","n":"1 "}}`},
		{single, "a,,null,,", `{"name":"a","properties":{"plan":"null"}}`},
		{single, "a,,,,", `{"name":"a"}`},
		{"name,properties", `a,"{""x"":[1,{""y"":2}]}"`, `{"name":"a","properties":{"x":[1,{"y":2}]}}`},
		{"name,properties", `a,5`, `!wrong_type`},
		{"name,properties", `a,"{},""websiteId"":""web_2"""`, `!wrong_type`},
		{"name,properties", `a,"{}}"`, `!wrong_type`},
		{"name,path", "a", `!columns`},
		{"name,path", "a,b,c", `!columns`},
		{"name,path", `a,b"c`, `!malformed`},
		{"name,path", `a,"b"c`, `!malformed`},
	} {
		table, err := newTable([]byte(tt.header))
		if err != nil {
			t.Fatal(err)
		}
		got, rejected := table.appendEvent([]byte("kept"), []byte(tt.row))
		if rejected != nil {
			got = append(got, "!"+rejected.Rule...)
		}
		if string(got) != "kept"+tt.want {
			t.Errorf("%s: %s becomes %s, want %s", tt.header, tt.row, got, tt.want)
		}
	}
}

func TestAHeaderThatIsNotUnderstoodSaysWhy(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"titel":                        `unknown column "titel"; the columns are name, properties,`,
		"name,properties.":             `unknown column "properties."`,
		"name,name":                    `column "name" appears twice`,
		"name,properties,properties.a": "not both",
		`name,"pa`:                     "quotes",
	} {
		if _, err := newTable([]byte(header)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %q in it", header, err, want)
		}
	}
}
