// A tour of what the official Go client does, against the namespace that a connection string names.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus/admin"
)

var (
	bus      *azservicebus.Client
	entities *admin.Client
	// Names of this run, so that runs do not meet.
	run = fmt.Sprintf("go-%d", time.Now().UnixNano())
)

type stop struct {
	name string
	run  func(ctx context.Context) error
}

var stops = []stop{
	{"send and complete", sendAndComplete},
	{"a batch keeps its order", batch},
	{"a message of several frames", largeMessage},
	{"properties keep their types", properties},
	{"receive and delete", receiveAndDelete},
	{"peek", peek},
	{"schedule and cancel", schedule},
	{"abandon counts a delivery", abandon},
	{"defer, receive deferred, settle in every way", deferred},
	{"dead-letter with a reason", deadLetter},
	{"renew a lock", renew},
	{"settle by lock token alone; then it is lost", settleByToken},
	{"a wait that ends leaves nothing behind", waitEnds},
	{"sessions by id", sessions},
	{"the next session", nextSession},
	{"topics and rules", topics},
	{"a missing entity is CodeNotFound", missing},
	{"a wrong key is CodeUnauthorizedAccess", wrongKey},
}

func main() {
	connection := os.Getenv("SERVICEBUS_CONNECTION_STRING")
	if connection == "" {
		fmt.Fprintln(os.Stderr, "SERVICEBUS_CONNECTION_STRING is not set.")
		os.Exit(2)
	}
	var err error
	bus, err = azservicebus.NewClientFromConnectionString(connection, nil)
	must(err)
	entities, err = admin.NewClientFromConnectionString(connection, nil)
	must(err)
	failures := 0
	for _, stop := range stops {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		started := time.Now()
		if err := stop.run(ctx); err != nil {
			failures++
			fmt.Printf("FAIL  %s: %v\n", stop.name, err)
		} else {
			fmt.Printf("ok    %s (%d ms)\n", stop.name, time.Since(started).Milliseconds())
		}
		cancel()
	}
	must(bus.Close(context.Background()))
	if failures > 0 {
		os.Exit(1)
	}
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
