package main

import (
	"context"
	"errors"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
)

func abandon(ctx context.Context) error {
	_, _, receiver, err := start(ctx, nil, "again")
	if err != nil {
		return err
	}
	message, err := takeOne(ctx, receiver, "again")
	if err != nil {
		return err
	}
	options := &azservicebus.AbandonMessageOptions{PropertiesToModify: map[string]any{"why": "later"}}
	if err := receiver.AbandonMessage(ctx, message, options); err != nil {
		return err
	}
	message, err = takeOne(ctx, receiver, "again")
	if err != nil {
		return err
	}
	return first(same(message.DeliveryCount, 2), same(message.ApplicationProperties["why"], "later"), receiver.CompleteMessage(ctx, message, nil))
}

func deferred(ctx context.Context) error {
	_, _, receiver, err := start(ctx, nil, "one", "two", "three", "four")
	if err != nil {
		return err
	}
	messages, err := take(ctx, receiver, 4)
	if err != nil {
		return err
	}
	var numbers []int64
	for _, message := range messages {
		numbers = append(numbers, *message.SequenceNumber)
		if err := receiver.DeferMessage(ctx, message, nil); err != nil {
			return err
		}
	}
	messages, err = receiver.ReceiveDeferredMessages(ctx, numbers, nil)
	if err != nil {
		return err
	}
	if err := same(len(messages), 4); err != nil {
		return err
	}
	reason := &azservicebus.DeadLetterOptions{Reason: ptr("r"), ErrorDescription: ptr("d")}
	if err := first(
		same(messages[0].State, azservicebus.MessageStateDeferred),
		receiver.RenewMessageLock(ctx, messages[0], nil),
		receiver.CompleteMessage(ctx, messages[0], nil),
		receiver.AbandonMessage(ctx, messages[1], &azservicebus.AbandonMessageOptions{PropertiesToModify: map[string]any{"n": int64(1)}}),
		receiver.DeferMessage(ctx, messages[2], nil),
		receiver.DeadLetterMessage(ctx, messages[3], reason),
	); err != nil {
		return err
	}
	_, err = receiver.ReceiveDeferredMessages(ctx, numbers[:1], nil)
	return isCode(err, azservicebus.CodeNotFound)
}

func deadLetter(ctx context.Context) error {
	name, _, receiver, err := start(ctx, nil, "bad")
	if err != nil {
		return err
	}
	message, err := takeOne(ctx, receiver, "bad")
	if err != nil {
		return err
	}
	err = receiver.DeadLetterMessage(ctx, message, &azservicebus.DeadLetterOptions{
		Reason: ptr("broken"), ErrorDescription: ptr("in two"), PropertiesToModify: map[string]any{"k": "v"},
	})
	if err != nil {
		return err
	}
	dead, err := bus.NewReceiverForQueue(name, &azservicebus.ReceiverOptions{SubQueue: azservicebus.SubQueueDeadLetter})
	if err != nil {
		return err
	}
	message, err = takeOne(ctx, dead, "bad")
	if err != nil {
		return err
	}
	return first(same(*message.DeadLetterReason, "broken"), same(*message.DeadLetterErrorDescription, "in two"),
		same(message.ApplicationProperties["k"], "v"), dead.CompleteMessage(ctx, message, nil))
}

func renew(ctx context.Context) error {
	_, _, receiver, err := start(ctx, nil, "mine")
	if err != nil {
		return err
	}
	message, err := takeOne(ctx, receiver, "mine")
	if err != nil {
		return err
	}
	before := *message.LockedUntil
	if err := receiver.RenewMessageLock(ctx, message, nil); err != nil {
		return err
	}
	if message.LockedUntil.Before(before) {
		return errors.New("the lock is shorter than before")
	}
	return receiver.CompleteMessage(ctx, message, nil)
}

func settleByToken(ctx context.Context) error {
	name, _, receiver, err := start(ctx, nil, "handed on")
	if err != nil {
		return err
	}
	message, err := takeOne(ctx, receiver, "handed on")
	if err != nil {
		return err
	}
	other, err := bus.NewReceiverForQueue(name, nil)
	if err != nil {
		return err
	}
	byToken := &azservicebus.ReceivedMessage{LockToken: message.LockToken}
	return first(
		other.CompleteMessage(ctx, byToken, nil),
		nothing(ctx, other),
		isCode(other.CompleteMessage(ctx, byToken, nil), azservicebus.CodeLockLost),
		isCode(receiver.CompleteMessage(ctx, message, nil), azservicebus.CodeLockLost),
		isCode(receiver.RenewMessageLock(ctx, message, nil), azservicebus.CodeLockLost),
	)
}

func waitEnds(ctx context.Context) error {
	_, sender, receiver, err := start(ctx, nil)
	if err != nil {
		return err
	}
	if err := nothing(ctx, receiver); err != nil {
		return err
	}
	// The credit of the first receive is still there; what comes is released by the client.
	if err := sender.SendMessage(ctx, &azservicebus.Message{Body: []byte("late")}, nil); err != nil {
		return err
	}
	message, err := takeOne(ctx, receiver, "late")
	if err != nil {
		return err
	}
	return receiver.CompleteMessage(ctx, message, nil)
}
