package main

import (
	"testing"

	"github.com/bivouac-ml/bivouac/store/object/gcs/gcstest"
)

// TestGCSScripts runs scripts with a server in memory that answers like Google Cloud Storage.
func TestGCSScripts(t *testing.T) {
	server := gcstest.Start(t)
	server.Bucket(t, "bucket")
	scripts(t, "testdata/gcs", map[string]string{"STORAGE_EMULATOR_HOST": server.Endpoint, "ENDPOINT": server.Endpoint})
}
