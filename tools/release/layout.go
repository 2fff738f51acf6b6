package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// loadedName is what an image is called once its archive is loaded; documents, compose and the
// chart say the same.
func loadedName(name, version string) string { return "localhost/" + name + ":" + version }

// layoutIndex is index.json of a folder in the layout of OCI.
type layoutIndex struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType,omitempty"`
	Manifests     []descriptor `json:"manifests"`
}

// descriptor points to a blob of the folder.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// path is where the blob is in the folder, with slashes.
func (d descriptor) path() string { return "blobs/" + strings.ReplaceAll(d.Digest, ":", "/") }

// imageManifest is what of an image's manifest tells its parts.
type imageManifest struct {
	Config descriptor   `json:"config"`
	Layers []descriptor `json:"layers"`
}

// savedImage is an image in manifest.json of what `docker save` writes.
type savedImage struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// nameImage gives the image of a layout its name for all who load it: podman and containerd read
// index.json, and Docker's own store of images only manifest.json, which is none of OCI's files.
func nameImage(layout, name string) error {
	var index layoutIndex
	if err := readJSON(filepath.Join(layout, "index.json"), &index); err != nil {
		return err
	}
	if len(index.Manifests) != 1 {
		return fmt.Errorf("the layout of %s has %d images, not one", name, len(index.Manifests))
	}
	image := &index.Manifests[0]
	image.Annotations = map[string]string{"org.opencontainers.image.ref.name": name, "io.containerd.image.name": name}
	var manifest imageManifest
	if err := readJSON(filepath.Join(layout, filepath.FromSlash(image.path())), &manifest); err != nil {
		return err
	}
	saved := savedImage{Config: manifest.Config.path(), RepoTags: []string{name}}
	for _, layer := range manifest.Layers {
		saved.Layers = append(saved.Layers, layer.path())
	}
	if err := writeJSON(filepath.Join(layout, "manifest.json"), []savedImage{saved}); err != nil {
		return err
	}
	return writeJSON(filepath.Join(layout, "index.json"), index)
}

func readJSON(file string, into any) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("reading %s: %w", filepath.Base(file), err)
	}
	return nil
}

func writeJSON(file string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}
