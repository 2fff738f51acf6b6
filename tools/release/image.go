package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// dockerfile is how images are made of the context.
const dockerfile = "deploy/docker/Dockerfile"

// imageNames are the images' names, by their targets.
var imageNames = map[string]string{"daemons": "millrace", "standalone": "millrace-standalone"}

// makeImages makes millrace_1.2.3_image_linux_amd64.tar and its like: archives in
// the layout of OCI that docker load takes as well, built without a daemon.
func makeImages(ctx context.Context, r *release) error {
	if len(r.images) == 0 {
		return nil
	}
	if err := stageContext(ctx, r); err != nil {
		return err
	}
	b, err := newBuilder(r)
	if err != nil {
		return err
	}
	defer b.Close()
	for _, target := range r.images {
		name, ok := imageNames[target]
		if !ok {
			return fmt.Errorf("%q is no target of %s", target, dockerfile)
		}
		for _, arch := range r.architectures() {
			file := r.path(fmt.Sprintf("%s_%s_image_linux_%s.tar", name, r.version, arch))
			if err := b.image(ctx, target, name, arch, file); err != nil {
				return err
			}
		}
	}
	return nil
}

// architectures are those of linux.
func (r *release) architectures() []string {
	var list []string
	for _, p := range r.platforms {
		if arch, ok := strings.CutPrefix(p, "linux/"); ok {
			list = append(list, arch)
		}
	}
	return list
}

// builder runs Debian's buildah with a storage of its own, so that nothing of this
// machine's images goes in or stays behind.
type builder struct {
	r       *release
	storage string
}

func newBuilder(r *release) (*builder, error) {
	if _, err := exec.LookPath("buildah"); err != nil {
		return nil,
			errors.New("images are built by buildah: install Debian's package of that name, or release without images")
	}
	storage, err := os.MkdirTemp("", "millrace-images-")
	return &builder{r, storage}, err
}

// Close removes the storage.
func (b *builder) Close() error { return os.RemoveAll(b.storage) }

// image builds one target and writes it into a file.
func (b *builder) image(ctx context.Context, target, name, arch, file string) error {
	tag := loadedName(name, b.r.version) + "-" + arch
	args := []string{
		"bud", "--isolation", "chroot", "--format", "oci", "--layers=false", "--quiet",
		"--timestamp", strconv.FormatInt(b.r.time.Unix(), 10), "--platform", "linux/" + arch, "--target", target,
		"--build-arg", "VERSION=" + b.r.version, "--build-arg", "REVISION=" + b.r.revision,
		"--file", filepath.Join(b.r.root, filepath.FromSlash(dockerfile)), "--tag", tag,
	}
	if b.r.glibcBase != "" {
		args = append(args, "--build-arg", "GLIBC_BASE="+b.r.glibcBase)
	}
	if err := b.buildah(ctx, append(args, b.r.path(contextDir))...); err != nil {
		return err
	}
	layout := filepath.Join(b.storage, "layout")
	defer os.RemoveAll(layout)
	if err := b.buildah(ctx, "push", "--quiet", tag, "oci:"+layout); err != nil {
		return err
	}
	if err := nameImage(layout, loadedName(name, b.r.version)); err != nil {
		return err
	}
	return b.r.writeLayout(file, layout)
}

func (b *builder) buildah(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "buildah", append([]string{
		"--storage-driver", "vfs", "--root", filepath.Join(b.storage, "root"), "--runroot", filepath.Join(b.storage, "run"),
	}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("running buildah %s: %w\n%s", args[0], err, out)
	}
	return nil
}

// writeLayout archives a folder in the layout of OCI; buildah's own archives have
// the time of day in them.
func (r *release) writeLayout(file, layout string) (err error) {
	var entries []entry
	err = filepath.WalkDir(layout, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(layout, path)
		entries = append(entries, entry{name: filepath.ToSlash(name), from: path, mode: 0o644})
		return err
	})
	if err != nil {
		return err
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return writeTar(f, r.time, entries)
}
