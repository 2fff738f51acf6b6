package enrich

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/oschwald/maxminddb-golang/v2"
	"github.com/prometheus/client_golang/prometheus"
)

// Place is where an address is, as far as it is known. Texts may be kept.
type Place struct {
	Country string // ISO 3166-1 alpha-2, such as "DE"
	Region  string // in English where the file has it, such as "Bavaria"
	City    string
}

// maxPlaceLen is how much of a region's or city's name is kept, in bytes.
const maxPlaceLen = 128

// countriesZstd is a MaxMind-format file of countries, compressed;
// tools/enrichdata makes it.
//
//go:embed data/countries.mmdb.zst
var countriesZstd []byte

// countriesLen is about the size of the file, in bytes.
const countriesLen = 8 << 20

// Geo finds places by address: in the operator's files in their order, and for
// what none of them knows in the countries that are built in. It is safe for
// concurrent use.
type Geo struct {
	log     *slog.Logger
	metrics metrics
	files   []*geoFile
	read    func(path string) ([]byte, error)
	// countries unpacks what is built in when it is first asked for, or Run begins.
	countries func() *geoData
}

// geoFile is a file of the operator's. Only watch changes it.
type geoFile struct {
	path string
	data atomic.Pointer[geoData]
	// loaded and seen are the file as it was read last, and as it was looked at
	// last: one that is being written is read when it has stood still for a look. failed is
	// the one that was told of.
	loaded, seen, failed stamp
}

type stamp struct {
	size int64
	time time.Time
}

// geoData is one version of a file. Places are remembered by where they stand in
// it: many networks share one.
type geoData struct {
	reader *maxminddb.Reader
	places *table[uintptr, Place]
}

// rememberedPlaces is how many places of a file are remembered.
const rememberedPlaces = 16 << 10

// NewGeo opens the operator's files, none of which may be unreadable.
func NewGeo(files []string, log *slog.Logger, reg prometheus.Registerer) (*Geo, error) {
	g := &Geo{log: log, metrics: newMetrics(reg), read: os.ReadFile, countries: sync.OnceValue(builtInCountries)}
	for _, path := range files {
		f := &geoFile{path: path}
		var err error
		if f.loaded, err = stampOf(path); err != nil {
			return nil, fmt.Errorf("opening a geo file: %w", err)
		}
		file, err := g.read(path)
		if err != nil {
			return nil, fmt.Errorf("opening a geo file: %w", err)
		}
		data, err := readGeo(file)
		if err != nil {
			return nil, fmt.Errorf("opening geo file %s: %w", path, err)
		}
		f.seen = f.loaded
		f.data.Store(data)
		g.files = append(g.files, f)
		g.metrics.opened(path, data)
	}
	return g, nil
}

// Of returns where an address is; the zero Place for private, loopback and all
// other addresses that nobody has on the internet.
func (g *Geo) Of(addr netip.Addr) Place {
	addr = addr.Unmap().WithZone("")
	if !addr.IsGlobalUnicast() || addr.IsPrivate() {
		return Place{}
	}
	for _, f := range g.files {
		if p := f.data.Load().of(addr); p.Country != "" {
			return p
		}
	}
	return g.countries().of(addr)
}

func (d *geoData) of(addr netip.Addr) Place {
	if d == nil || addr.Is6() && d.reader.Metadata.IPVersion == 4 {
		return Place{}
	}
	result := d.reader.Lookup(addr)
	if !result.Found() {
		return Place{}
	}
	if p, ok := d.places.get(result.Offset()); ok {
		return p
	}
	p, err := placeOf(result)
	if err != nil {
		return Place{}
	}
	d.places.put(result.Offset(), p)
	return p
}

// placeOf reads a place in the shapes that such files have: MaxMind's and
// DB-IP's nested names, the flat columns of ip-location-db, and IPinfo's.
func placeOf(result maxminddb.Result) (Place, error) {
	var record map[string]any
	if err := result.Decode(&record); err != nil {
		return Place{}, err
	}
	p := Place{Country: text(record["country_code"]), Region: text(record["state1"]), City: text(record["city"])}
	if p.Country == "" {
		if p.Country = text(record["country"]); p.Country == "" {
			p.Country = text(field(record["country"], "iso_code"))
		}
	}
	if p.Region == "" {
		p.Region = text(record["region"])
	}
	if list, ok := record["subdivisions"].([]any); ok && len(list) > 0 {
		p.Region = text(field(field(list[0], "names"), "en"))
	}
	if p.City == "" {
		p.City = text(field(field(record["city"], "names"), "en"))
	}
	if !isCountry(p.Country) {
		return Place{}, nil
	}
	return p, nil
}

func field(v any, name string) any {
	m, _ := v.(map[string]any)
	return m[name]
}

func text(v any) string {
	s, _ := v.(string)
	return string(cutRunes([]byte(s), maxPlaceLen))
}

func isCountry(code string) bool {
	return len(code) == 2 && 'A' <= code[0] && code[0] <= 'Z' && 'A' <= code[1] && code[1] <= 'Z'
}

// builtInCountries unpacks the countries. A file of ours that does not open is a
// broken build, which the tests find.
func builtInCountries() *geoData {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil
	}
	defer z.Close()
	file, err := z.DecodeAll(countriesZstd, make([]byte, 0, countriesLen))
	if err != nil {
		return nil
	}
	data, err := readGeo(file)
	if err != nil {
		return nil
	}
	return data
}

var errNoPlaces = errors.New("the file has no countries: neither country.iso_code nor country_code")

// readGeo opens a file and looks whether it has what it is opened for. It is read rather
// than mapped: one that is written over in place would change under the lookups, or end the
// process.
func readGeo(file []byte) (*geoData, error) {
	reader, err := maxminddb.OpenBytes(file)
	if err != nil {
		return nil, err
	}
	tried := 0
	for network := range reader.Networks() {
		p, err := placeOf(network)
		if err != nil {
			return nil, err
		}
		if p.Country != "" {
			return &geoData{reader: reader, places: newTable[uintptr, Place](rememberedPlaces)}, nil
		}
		if tried++; tried == 1000 {
			break
		}
	}
	return nil, errNoPlaces
}

// Run looks after the operator's files every interval until ctx ends.
func (g *Geo) Run(ctx context.Context, interval time.Duration) error {
	g.countries()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		for _, f := range g.files {
			g.look(ctx, f)
		}
	}
}

// look reads a file that has changed and stands still. One that cannot be read
// leaves the version before it in use, and is told of once. It may be readable at the next
// look without having changed, so it is tried again, unless it was read and is no geo file.
func (g *Geo) look(ctx context.Context, f *geoFile) {
	now, err := stampOf(f.path)
	before := f.seen
	if f.seen = now; err != nil || now == f.loaded || now != before {
		return
	}
	var data *geoData
	file, err := g.read(f.path)
	if err == nil {
		f.loaded = now
		data, err = readGeo(file)
	}
	if err != nil {
		if f.failed != now {
			g.metrics.failures.Inc()
			g.log.LogAttrs(ctx, slog.LevelError, "geo file cannot be read, keeping the previous one",
				slog.String("path", f.path), slog.Any("error", err))
		}
		f.failed = now
		return
	}
	f.data.Store(data)
	g.metrics.opened(f.path, data)
	g.log.LogAttrs(ctx, slog.LevelInfo, "geo file reloaded",
		slog.String("path", f.path), slog.Time("built", data.reader.Metadata.BuildTime()))
}

func stampOf(path string) (stamp, error) {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}, err
	}
	return stamp{size: info.Size(), time: info.ModTime()}, nil
}
