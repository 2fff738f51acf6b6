package enrich

import (
	"bytes"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maxmind/mmdbwriter/mmdbtype"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/millrace/millrace/internal/pipeline/enrich/enrichtest"
)

const munich = "203.0.113.7"

func geoOf(t *testing.T, files ...string) *Geo {
	t.Helper()
	g, err := NewGeo(files, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestCountriesAreBuiltIn(t *testing.T) {
	t.Parallel()
	g := geoOf(t)
	for addr, want := range map[string]Place{
		"8.8.8.8":              {Country: "US"},
		"::ffff:8.8.8.8":       {Country: "US"},
		"91.198.174.192":       {Country: "NL"},
		"2001:4860:4860::8888": {Country: "US"},
		"2a02:2e0:3fe::1%eth0": {Country: "DE"},
		"127.0.0.1":            {},
		"10.1.2.3":             {},
		"192.168.0.1":          {},
		"169.254.1.1":          {},
		"100.64.0.1":           {},
		"224.0.0.1":            {},
		"0.0.0.0":              {},
		"255.255.255.255":      {},
		"::1":                  {},
		"fe80::1":              {},
		"fd00::1":              {},
	} {
		if got := g.Of(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s is in %+v, want %+v", addr, got, want)
		}
	}
	if got := g.Of(netip.Addr{}); got != (Place{}) {
		t.Errorf("no address is in %+v", got)
	}
}

func TestFilesOfEveryShapeAreRead(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		record mmdbtype.Map
		want   Place
	}{
		"GeoLite2 City and DB-IP": {enrichtest.MaxMind("DE", "Bavaria", "Munich"), Place{"DE", "Bavaria", "Munich"}},
		"GeoLite2 Country": {
			mmdbtype.Map{"country": mmdbtype.Map{"iso_code": mmdbtype.String("DE")}}, Place{Country: "DE"},
		},
		"ip-location-db city": {
			enrichtest.Flat(
				map[string]string{"country_code": "DE", "state1": "Bavaria", "state2": "Upper Bavaria", "city": "Munich"}),
			Place{"DE", "Bavaria", "Munich"},
		},
		"ip-location-db country": {enrichtest.Flat(map[string]string{"country_code": "DE"}), Place{Country: "DE"}},
		"IPinfo": {
			enrichtest.Flat(map[string]string{"country": "DE", "region": "Bavaria", "city": "Munich"}),
			Place{"DE", "Bavaria", "Munich"},
		},
		"a name beyond the bound": {
			enrichtest.Flat(map[string]string{"country_code": "DE", "city": strings.Repeat("ü", maxPlaceLen)}),
			Place{Country: "DE", City: strings.Repeat("ü", maxPlaceLen/2)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "places.mmdb")
			enrichtest.Write(t, path, map[string]mmdbtype.Map{"203.0.113.0/24": tc.record})
			g := geoOf(t, path)
			for range 2 { // read, then remembered
				if got := g.Of(netip.MustParseAddr(munich)); got != tc.want {
					t.Errorf("got %+v, want %+v", got, tc.want)
				}
			}
			if got := g.Of(netip.MustParseAddr("8.8.8.8")); got.Country != "US" {
				t.Errorf("what the file does not know is in %+v, want what is built in", got)
			}
		})
	}
}

func TestAFileThatIsNoneEndsTheStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	noFile, noPlaces := filepath.Join(dir, "none"), filepath.Join(dir, "asn.mmdb")
	enrichtest.Write(t, noPlaces,
		map[string]mmdbtype.Map{"203.0.113.0/24": enrichtest.Flat(map[string]string{"as_name": "x"})})
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("no geo file"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{noFile, noPlaces, text, dir} {
		if _, err := NewGeo([]string{path}, slog.New(slog.DiscardHandler), nil); err == nil ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want an error that names it", path, err)
		}
	}
}

// replace puts a new version in place of a file, as its users are told to.
func replace(t *testing.T, path string, at time.Time, write func(path string)) {
	t.Helper()
	write(path + ".new")
	if err := os.Chtimes(path+".new", at, at); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func TestAChangedFileIsReadAgainAndABrokenOneIsNot(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "places.mmdb")
	write := func(city string) func(string) {
		return func(path string) {
			enrichtest.Write(t, path, map[string]mmdbtype.Map{"203.0.113.0/24": enrichtest.MaxMind("DE", "Bavaria", city)})
		}
	}
	broken := func(path string) {
		if err := os.WriteFile(path, []byte("half a file"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("Munich")(path)
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		g, err := NewGeo([]string{path}, slog.New(slog.NewTextHandler(&log, nil)), prometheus.NewRegistry())
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- g.Run(t.Context(), time.Second) }()
		t.Cleanup(func() {
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
		city := func(step, want string) {
			t.Helper()
			time.Sleep(5 * time.Second) //nolint:forbidigo // of the bubble's clock
			synctest.Wait()
			if got := g.Of(netip.MustParseAddr(munich)).City; got != want {
				t.Errorf("%s: the city is %q, want %q", step, got, want)
			}
		}
		city("at first", "Munich")
		replace(t, path, time.Unix(1_800_000_000, 0), write("Augsburg"))
		city("a new file", "Augsburg")
		replace(t, path, time.Unix(1_800_000_001, 0), broken)
		city("a broken file", "Augsburg")
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		city("no file", "Augsburg")
		replace(t, path, time.Unix(1_800_000_002, 0), write("Nuremberg"))
		city("a good one again", "Nuremberg")
		if n := strings.Count(log.String(), "cannot be read"); n != 1 || testutil.ToFloat64(g.metrics.failures) != 1 {
			t.Errorf("the broken file was told of %d times, and counted %v times: want once\n%s",
				n, testutil.ToFloat64(g.metrics.failures), &log)
		}
	})
}

// Its size and time are the same when it may be read, or when there are files to be opened again.
func TestAFileThatCouldNotBeReadIsTriedAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "places.mmdb")
	write := func(city string) func(string) {
		return func(path string) {
			enrichtest.Write(t, path, map[string]mmdbtype.Map{"203.0.113.0/24": enrichtest.MaxMind("DE", "Bavaria", city)})
		}
	}
	write("Munich")(path)
	g := geoOf(t, path)
	replace(t, path, time.Unix(1_800_000_000, 0), write("Augsburg"))
	g.read = func(path string) ([]byte, error) {
		return nil, &os.PathError{Op: "open", Path: path, Err: os.ErrPermission}
	}
	city := func(step, want string) {
		t.Helper()
		for range 3 {
			g.look(t.Context(), g.files[0])
		}
		if got := g.Of(netip.MustParseAddr(munich)).City; got != want || testutil.ToFloat64(g.metrics.failures) != 1 {
			t.Errorf("%s: the city is %q, want %q; %v files could not be read", step, got, want,
				testutil.ToFloat64(g.metrics.failures))
		}
	}
	city("a file that may not be read", "Munich")
	g.read = os.ReadFile
	city("the same when it may", "Augsburg")
}

func TestAFileThatGrowsIsNotReadYet(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "places.mmdb")
	record := map[string]mmdbtype.Map{"203.0.113.0/24": enrichtest.MaxMind("DE", "Bavaria", "Munich")}
	enrichtest.Write(t, path, record)
	g := geoOf(t, path)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n < len(whole); n += 100 {
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		g.look(t.Context(), g.files[0])
	}
	if n := testutil.ToFloat64(g.metrics.failures); n != 0 {
		t.Errorf("a file that was being written was read %v times", n)
	}
}

func BenchmarkPlace(b *testing.B) {
	g, err := NewGeo(nil, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		b.Fatal(err)
	}
	addr := netip.MustParseAddr("91.198.174.192")
	g.Of(addr)
	b.ReportAllocs()
	for b.Loop() {
		g.Of(addr)
	}
}

func BenchmarkUnpackCountries(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if builtInCountries() == nil {
			b.Fatal("the built-in countries do not open")
		}
	}
}
