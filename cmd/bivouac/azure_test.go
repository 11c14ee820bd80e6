package main

import (
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/store/object/azure/azuretest"
)

// TestAzureScripts runs scripts with Azurite. It is skipped where it cannot be installed.
func TestAzureScripts(t *testing.T) {
	server := azuretest.Start(t)
	server.Container(t, "runs")
	scripts(t, "testdata/azure", map[string]string{
		"AZURE_STORAGE_CONNECTION_STRING": "AccountName=" + server.Account + ";AccountKey=" + server.Key +
			";BlobEndpoint=" + server.Endpoint,
		"ENDPOINT": server.Endpoint, "READONLY": server.SAS("rl", time.Hour),
	})
}
