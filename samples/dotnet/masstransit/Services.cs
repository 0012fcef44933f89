using Microsoft.Extensions.Logging;

namespace Orders;

/// <summary>Takes the money for an order.</summary>
public interface IPayments
{
    Task Charge(Guid orderId, int total, CancellationToken cancellationToken);
}

/// <summary>The payment provider cannot be reached. It is worth trying again.</summary>
public sealed class PaymentsUnavailableException(string message) : Exception(message);

/// <summary>Packs an order and hands it to a carrier.</summary>
public interface IWarehouse
{
    Task Ship(Guid orderId, CancellationToken cancellationToken);
}

/// <summary>What the service did, in the order in which it did it.</summary>
public interface IJournal
{
    void Write(string endpoint, Guid orderId, string what);
}

internal sealed class InstantPayments : IPayments
{
    public Task Charge(Guid orderId, int total, CancellationToken cancellationToken) => Task.CompletedTask;
}

internal sealed class QuickWarehouse : IWarehouse
{
    public Task Ship(Guid orderId, CancellationToken cancellationToken) =>
        Task.Delay(TimeSpan.FromMilliseconds(50), cancellationToken);
}

internal sealed class LoggedJournal(ILogger<LoggedJournal> logger) : IJournal
{
    public void Write(string endpoint, Guid orderId, string what) =>
        logger.LogInformation("{Endpoint}: {What} ({OrderId})", endpoint, what, orderId);
}
