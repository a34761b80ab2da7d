"""What a metric becomes once it is bound to data: functions of the generalised confusion vector ``u``."""
