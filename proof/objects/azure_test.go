package objects

import (
	"fmt"
	"testing"

	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/object/azure/azuretest"
	"github.com/bivouac-ml/bivouac/store/storetest"

	_ "github.com/bivouac-ml/bivouac/store/object/azure" // the scheme az
)

// TestRunInAzure is the same run in Azurite, the emulator of Azure.
func TestRunInAzure(t *testing.T) {
	server := azurite(t)
	url := server.Container(t, "runs")
	run(t, func(name string) string { return store.JoinURL(url, "team/"+name) })
}

// TestStoreInAzure runs the conformance suite of stores in Azurite.
func TestStoreInAzure(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	server, n := azurite(t), 0
	storetest.Run(t, func(t *testing.T) store.Store {
		n++
		st, _, err := store.FromURL(t.Context(), server.Container(t, fmt.Sprint("suite-", n)))
		if err != nil {
			t.Fatal(err)
		}
		return st
	})
}

// azurite starts a server, and puts its key into the environment.
func azurite(t *testing.T) *azuretest.Server {
	t.Helper()
	server := azuretest.Start(t)
	t.Setenv("AZURE_STORAGE_CONNECTION_STRING", "")
	t.Setenv("AZURE_STORAGE_ACCOUNT", server.Account)
	t.Setenv("AZURE_STORAGE_KEY", server.Key)
	return server
}
