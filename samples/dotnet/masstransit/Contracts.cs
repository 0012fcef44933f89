namespace Orders;

/// <summary>Asks for an order. The answer is <see cref="OrderAccepted"/> or <see cref="OrderRejected"/>.</summary>
public sealed record SubmitOrder(Guid OrderId, string Customer, string Region, int Total);

/// <summary>The order is taken. A payment cancels the reminder.</summary>
public sealed record OrderAccepted(Guid OrderId, Guid ReminderId);

public sealed record OrderRejected(Guid OrderId, string Reason);

/// <summary>Anything that happened to an order. Who subscribes to this type gets every event.</summary>
public interface IOrderEvent
{
    Guid OrderId { get; }
}

public sealed record OrderSubmitted(Guid OrderId, string Customer, string Region, int Total) : IOrderEvent;

public sealed record OrderPaid(Guid OrderId) : IOrderEvent;

public sealed record OrderShipped(Guid OrderId) : IOrderEvent;

public sealed record ChargePayment(Guid OrderId, int Total, Guid? ReminderId = null);

public sealed record ShipOrder(Guid OrderId);

/// <summary>Is scheduled when an order comes, and cancelled when it is paid.</summary>
public sealed record RemindOfPayment(Guid OrderId);

/// <summary>One step in the life of an order. The steps of one order are handled in their order.</summary>
public sealed record OrderStep(Guid OrderId, int Number, string Description);
