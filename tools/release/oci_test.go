package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// imageConfig is what of an image's configuration tests look at.
type imageConfig struct {
	Created      time.Time `json:"created"`
	Architecture string    `json:"architecture"`
	OS           string    `json:"os"`
	Config       struct {
		User   string            `json:"User"`
		Env    []string          `json:"Env"`
		Labels map[string]string `json:"Labels"`
	} `json:"config"`
}

// unpack writes the files of an image below root, as a container engine would, and
// returns its configuration.
func unpack(archive, root string) (imageConfig, error) {
	var config imageConfig
	blobs := filepath.Join(filepath.Dir(root), "blobs")
	f, err := os.Open(archive)
	if err != nil {
		return config, err
	}
	defer f.Close()
	if err := extract(f, blobs); err != nil {
		return config, err
	}
	var index layoutIndex
	var manifest imageManifest
	if err := readJSON(filepath.Join(blobs, "index.json"), &index); err != nil {
		return config, err
	}
	if len(index.Manifests) != 1 {
		return config, fmt.Errorf("the archive has %d images", len(index.Manifests))
	}
	if err := readJSON(index.Manifests[0].in(blobs), &manifest); err != nil {
		return config, err
	}
	for _, layer := range manifest.Layers {
		if err := extractLayer(layer.in(blobs), root); err != nil {
			return config, err
		}
	}
	err = readJSON(manifest.Config.in(blobs), &config)
	return config, err
}

func (d descriptor) in(dir string) string { return filepath.Join(dir, filepath.FromSlash(d.path())) }

func extractLayer(file, root string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	zr, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	return extract(zr, root)
}

// extract writes the folders and files of a tar below root.
func extract(r io.Reader, root string) error {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err
	}
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		path := filepath.Join(root, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			if err := os.MkdirAll(path, h.FileInfo().Mode().Perm()); err != nil {
				return err
			}
			continue
		}
		if h.Typeflag != tar.TypeReg {
			return fmt.Errorf("%s is neither a file nor a folder", h.Name)
		}
		if err := writeFile(path, tr, h.FileInfo().Mode().Perm()); err != nil {
			return err
		}
	}
}

func writeFile(path string, content io.Reader, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}
