package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
	"github.com/oschwald/maxminddb-golang/v2"
)

const countriesFile = "data/countries.mmdb.zst"

var errCountry = errors.New("want two letters")

// writeCountries compresses the file as it is, after a look whether it is one.
func writeCountries(dir, version string, files map[string][]byte) error {
	file := files["geo-whois-asn-country.mmdb"]
	r, err := maxminddb.OpenBytes(file)
	if err != nil {
		return err
	}
	for network := range r.Networks() {
		var country string
		if err := network.DecodePath(&country, "country_code"); err != nil || len(country) != 2 {
			return fmt.Errorf("the country of %s is %q: %w", network.Prefix(), country, errors.Join(err, errCountry))
		}
	}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	if err != nil {
		return err
	}
	packed := z.EncodeAll(file, nil)
	fmt.Printf("countries %s of %s: %d bytes, compressed %d\n",
		version, r.Metadata.BuildTime().UTC().Format("2006-01-02"), len(file), len(packed))
	return os.WriteFile(filepath.Join(dir, countriesFile), packed, 0o644)
}
