package azure_test

import (
	"os"
	"strings"
	"testing"
)

// lonely takes away all credentials and settings of the machine.
func lonely(t *testing.T) {
	t.Helper()
	for _, e := range os.Environ() {
		name, _, _ := strings.Cut(e, "=")
		if strings.HasPrefix(name, "AZURE_") || strings.HasPrefix(name, "IDENTITY_") || strings.HasPrefix(name, "MSI_") {
			t.Setenv(name, "")
			os.Unsetenv(name)
		}
	}
}
