package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// CacheEnv names the variable that moves the folder of CacheDir. It is no setting:
// what lies there can be fetched again at any time.
const CacheEnv = envPrefix + "CACHE"

// testPrefix begins the variables that tests read. A daemon that inherits one has
// nothing to do with it.
const testPrefix = envPrefix + "TEST_"

// CacheDir is where programs, libraries and packages are kept that were fetched or
// built once for all checkouts of this user: the folder that CacheEnv names, else
// "millrace" in the user's cache folder. It may not be there yet.
func CacheDir() (string, error) {
	if dir := os.Getenv(CacheEnv); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding the user's cache folder (%s names another): %w", CacheEnv, err)
	}
	return filepath.Join(dir, "millrace"), nil
}

// isNoSetting reports whether a variable with our prefix is meant for somebody else
// than a daemon: for a command, for the tests, or for whoever keeps the cache.
func isNoSetting(name string) bool {
	return name == KeyEnv || name == CacheEnv || strings.HasPrefix(name, testPrefix) || serviceLink.MatchString(name)
}
