package config

import (
	"path/filepath"
	"testing"
)

func TestTheCacheIsTheUsersUnlessAVariableMovesIt(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv(CacheEnv, "")
	dir, err := CacheDir()
	if err != nil || filepath.Base(dir) != "millrace" || !filepath.IsAbs(dir) {
		t.Errorf("without the variable the cache is %q, %v", dir, err)
	}
	if rel, err := filepath.Rel(home, dir); err != nil || rel == "millrace" {
		t.Errorf("the cache %s is not in a cache folder below %s (%v)", dir, home, err)
	}
	t.Setenv(CacheEnv, "elsewhere")
	if dir, err := CacheDir(); err != nil || !filepath.IsAbs(dir) || filepath.Base(dir) != "elsewhere" {
		t.Errorf("with the variable the cache is %q, %v", dir, err)
	}
}
